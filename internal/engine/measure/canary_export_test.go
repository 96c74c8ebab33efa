package measure

import "time"

// SetWallTime shortens the time that a kernel may take.
func (c *Canary) SetWallTime(d time.Duration) { c.wall = d }
