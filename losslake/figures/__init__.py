"""Figures: charts of answers, each one Vega-Lite specification, rendered to SVG, PNG and PDF."""
