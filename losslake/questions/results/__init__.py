"""MLPerf's submissions: their times by its rules, checked against its reference points, and what is doubtful."""
