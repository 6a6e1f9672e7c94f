package eventlog_test

import "runtime"

// keepsRoom says that a file is not cut while a reader maps it.
const keepsRoom = runtime.GOOS == "windows"

// locks says that there is a lock for the one writer.
const locks = runtime.GOOS != "aix" && runtime.GOOS != "solaris" && runtime.GOOS != "plan9" && runtime.GOOS != "js" && runtime.GOOS != "wasip1"

func goexit() { runtime.Goexit() }
