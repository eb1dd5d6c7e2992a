"""Recorders for the callbacks of trainers, one module each; its import needs the trainer.

losslake.record.callbacks.hugging_face, losslake.record.callbacks.lightning and losslake.record.callbacks.keras.
"""
