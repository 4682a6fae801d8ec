"""Bokeh panels inside the Jupyter server: utilization, loss, queue, usage. Bokeh is loaded when the first is opened."""
