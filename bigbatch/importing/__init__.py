"""The import of runs from other trackers: TensorBoard, MLflow, Neptune."""
