"""The charts of the page, as inline SVG."""
