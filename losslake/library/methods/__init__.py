"""The methods of lakes, one for each question: written by `python -m losslake.library.generate`."""
