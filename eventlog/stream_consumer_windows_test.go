package eventlog_test

// The example of a consumer is for systems on which a reader tells that the last segment has
// ended, so no test starts this child.

const consumerEnv = "EVENTLOG_TEST_CONSUMER"

func childConsumes(string) error { return nil }
