"""One module per question: parameters in, an answer with Arrow rows out, independent of HTTP."""
