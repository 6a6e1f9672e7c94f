package logdisk

var (
	CannotSyncNames = cannotSyncNames
	SyncNames       = syncNames
)
