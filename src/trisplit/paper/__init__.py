"""The figures and claims of [YMS21], reproduced: one file each with its parameters, its run and its picture."""
