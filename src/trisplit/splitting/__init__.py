"""Three operator splitting, [YMS21] Algorithm 1, once; and Frank-Wolfe, the baseline of the paper."""
