package earlier
