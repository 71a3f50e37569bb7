"""Arrays in, arrays out: no chance, no privacy, no frames, nothing of ours."""
