"""Code that several layers of the tests share. Nothing here is a test."""
