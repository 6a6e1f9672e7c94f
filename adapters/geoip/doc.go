// Package geoip has an example of package live: an HTTP server that looks up addresses in a
// MaxMind database, which a deployment replaces while requests run. No request fails or
// waits, and the database is not copied into memory.
package geoip

import _ "go.dw1.io/mmapfile/live" // which the example uses
