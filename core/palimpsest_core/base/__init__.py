"""The bottom layer: errors, cancellation, progress, text rules. Imports nothing above itself."""
