"""Calibration: how often the intervals and forecasts that answers state hold, measured into losslake/analysis."""
