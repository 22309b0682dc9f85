"""karat: a laboratory for the theory of robust feature learning."""
