"""What the Kafka log is made of: connection, protocol, envelope, reading, waiting, writing and the identity of its topics."""
