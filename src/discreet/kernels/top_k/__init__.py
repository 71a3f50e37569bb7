"""The k best columns: the search over canonical Lipschitz sets, votes of block-wise lassos, metrics of a set."""
