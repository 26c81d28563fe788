"""A local page for exploring formulations in a browser, which ``npkl explore`` serves (extra ``explore``)."""
