"""The private minimum over 2^d models without visiting them: laws of minima that separate into parts."""
