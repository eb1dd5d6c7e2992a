"""The charts, one a module: the kind of figure, how an answer becomes its panels, and the function that draws one."""
