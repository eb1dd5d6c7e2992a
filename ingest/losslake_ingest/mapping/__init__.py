"""Mapping files: what logs don't say of their study, trial, metrics and steps."""
