"""Commands and sessions that ask with SQL: in a lake, behind a URL, in Spark, in a shell."""
