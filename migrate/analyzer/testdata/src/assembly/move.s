// Left empty: only the names in such a file matter.
