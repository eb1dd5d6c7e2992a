"""Commands for contributors and reviewers: check, push, live, review, tokens, audit."""
