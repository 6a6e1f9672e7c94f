//go:build mmapfile_eager

package prices

import "go.dw1.io/mmapfile/internal/blocks"

// Long is the smallest that the tests can have.
const Long = blocks.PageSize
