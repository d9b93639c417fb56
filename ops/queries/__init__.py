"""Every read that the surfaces offer, as plain functions over one consistent reading. No surface decides anything."""
