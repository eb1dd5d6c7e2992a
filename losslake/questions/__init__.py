"""One module per question: a frozen question in, a frozen answer or an Arrow table out; nothing of HTTP."""
