"""Was a statement still in force when it was lost? What later words of the session say of it."""
