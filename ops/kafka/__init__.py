"""A real Apache Kafka broker for development and tests: its jars by Maven, one to three KRaft nodes on loopback."""
