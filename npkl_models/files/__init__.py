"""Every reader and writer: one gate for bytes that come in, one atomic way out."""
