"""Private tables, seen only through what is declared public about them."""
