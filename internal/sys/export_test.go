package sys

var CannotSyncNames = cannotSyncNames
