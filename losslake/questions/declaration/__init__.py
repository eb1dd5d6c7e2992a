"""What a question is: its parameters, its summary, its columns."""
