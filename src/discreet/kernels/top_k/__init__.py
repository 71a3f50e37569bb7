"""The k best columns: the search over canonical Lipschitz sets, votes of block-wise lassos, how right a set is."""
