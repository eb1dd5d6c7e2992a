"""The analyses under /v1/analysis: their parameters, facts and questions."""
