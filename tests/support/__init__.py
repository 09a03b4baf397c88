"""What more than one layer of the tests uses; nothing here tests anything."""
