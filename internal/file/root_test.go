package file_test

import _ "go.dw1.io/mmapfile" // it has the platform
