"""Reviews: submissions, checks, drafts, decisions, acceptance, erasure, and their pages."""
