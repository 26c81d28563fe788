"""Row by row: block coordinate descent and what it stands on."""
