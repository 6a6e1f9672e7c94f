package raftlog

import "syscall"

// dataSync makes each write durable, without the journal commit that a new modification time
// would ask for.
const dataSync = syscall.O_DSYNC
