"""Figures: charts of answers as Vega-Lite specifications, rendered to SVG, PNG and PDF."""
