"""The paths of figures: /v1/figures/{kind}.{vl.json,svg,png,pdf,csv}."""
