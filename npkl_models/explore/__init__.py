"""A local page for exploring formulations in a browser; what ``npkl explore`` serves (extra ``explore``)."""
