package comm_test

import (
	"testing"

	"jmpi/dist/comm/commtest"
)

func TestMain(m *testing.M) { commtest.Main(m) }
