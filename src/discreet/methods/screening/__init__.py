"""Selection of the k best columns by correlation (Swope et al.), by votes, by scores of one's own."""
