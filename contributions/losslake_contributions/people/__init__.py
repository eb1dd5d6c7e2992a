"""Contributors: tokens, sessions, quotas, links, the audit log, and what all routes know of a sender."""
