"""What a released fit answers for free: predictions, joint regions, marginal effects."""
