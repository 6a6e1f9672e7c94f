// Package apart has tests that could set what pools.New returns.
package apart

import _ "pools"
