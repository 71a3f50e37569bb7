"""What a request can be expected to achieve, by simulation from public facts alone."""
